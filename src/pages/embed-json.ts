/**
 * A value as JSON that may stand in a `<script type="application/json">`. Inside one HTML knows no entities and ends it
 * at `</script`, while `<!--` and `<script` start states of their own (HTML, “script data state”): no `<` is left.
 * U+2028 and U+2029 end lines for readers that take JSON for JavaScript.
 */
export function embedJson(value: unknown): string {
	return JSON.stringify(value).replace(
		/[<>&\u2028\u2029]/g,
		(character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
	);
}
