
// Filters the cards by words, paper, kind, verdict and cause. Without it all are shown.
(() => {
  const form = document.getElementById("filter");
  const fields = form.elements;
  const status = document.getElementById("shown");
  const cards = [...document.querySelectorAll(".card")].map(card => ({
    card,
    items: card.dataset.items.split(";").map(item => item.split(":")),
    causes: card.dataset.causes.split(";"),
  }));

  function fits({ card, items, causes }) {
    const { words, paper, kind, verdict, cause } = fields;
    const sought = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    return (!paper.value || card.dataset.paper === paper.value)
      && (!cause.value || causes.includes(cause.value))
      && ((!kind.value && !verdict.value) || items.some(([itsKind, itsVerdict]) =>
        (!kind.value || itsKind === kind.value) && (!verdict.value || itsVerdict === verdict.value)))
      && sought.every(word => card.dataset.words.includes(word));
  }

  function show() {
    let shown = 0;
    for (const one of cards) {
      const fit = fits(one);
      one.card.hidden = !fit;
      shown += fit;
    }
    for (const paper of document.querySelectorAll(".paper")) {
      paper.hidden = !paper.querySelector(".card:not([hidden])");
    }
    status.textContent = shown === cards.length ? `All ${shown} targets are shown.` : `${shown} of ${cards.length} targets are shown.`;
  }

  form.addEventListener("input", show);
  form.addEventListener("submit", event => event.preventDefault());
  form.addEventListener("reset", () => {
    for (const field of [fields.words, fields.paper, fields.kind, fields.verdict, fields.cause]) field.value = "";
    show();
  });
  for (const link of document.querySelectorAll("a[data-verdict]")) {
    link.addEventListener("click", () => {
      form.reset();
      fields.kind.value = link.dataset.kind;
      fields.verdict.value = link.dataset.verdict;
      show();
    });
  }
  form.hidden = false;
  show();
})();
