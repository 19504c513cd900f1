"""What an environment consists of."""

import measuring

measuring.answer(**measuring.environment())
