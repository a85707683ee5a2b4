/** The ways to shorten a text that can be asked for; see `docs/strategies.md`. */
export const truncationStrategies = [
	"head_tail",
	"auto",
	"json",
	"log",
	"diff",
	"table",
	"html",
	"binary",
	"focus",
] as const;
