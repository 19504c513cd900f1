"""Pictures of generated images, to be judged by eye: snakemake --cores 1 data/pictures/<dataset>.svg"""


rule contact_sheet:
    input:
        local(f"{DATA}/raw/{{dataset}}/verified.json"),
    output:
        svg=f"{DATA}/pictures/{{dataset}}.svg",
        png=f"{DATA}/pictures/{{dataset}}.png",
    log:
        f"{DATA}/logs/pictures/{{dataset}}.log",
    wildcard_constraints:
        dataset="|".join(
            name
            for name, one in PLAN.catalogue.items()
            if one.picture and one.state == "generated"
        ),
    conda:
        ENVIRONMENT
    params:
        code=code_of_script("contact_sheet"),
    script:
        "../scripts/contact_sheet.py"
