/** A longer line is looked at sentence by sentence, and a longer sentence is data, not a rule. */
const mostInLine = 400;
const mostInRule = 1_000;
/** The lines, or the sentences of long lines, that state a rule or take one back, in English, French or Chinese. */
export function ruleSpans(text) {
	return piecesOf(text).filter(({ start, end }) => {
		return end - start <= mostInRule && rules.some((rule) => rule.test(text.slice(start, end)));
	});
}
function piecesOf(text) {
	return Array.from(text.matchAll(/[^\n]+/g)).flatMap(({ index, 0: line }) => {
		const pieces = line.length <= mostInLine ? [{ index: 0, 0: line }] : line.matchAll(/[^.!?。！？]+[.!?。！？]*/gu);
		return Array.from(pieces, ({ index: at, 0: piece }) => {
			const start = index + at + piece.length - piece.trimStart().length;
			return { start, end: start + piece.trim().length };
		}).filter(({ start, end }) => end > start);
	});
}
const word = (words) => new RegExp(`(?<![\\p{L}\\p{N}_])(?:${words})(?![\\p{L}\\p{N}_])`, "iu");
const rules = [
	word(
		"never|always|must|mustn['’]t|do not|don['’]t|shall|should(?:n['’]t)?|only|from now on|no longer|any ?more|not allowed|may not|cannot|forbidden|avoid|make sure|instead|ignore|forget|revoke[ds]?|scratch that",
	),
	word(
		"jamais|toujours|doi(?:s|t|vent)|devez|devons|ne pas|n['’]\\p{L}+ pas|ne \\p{L}+ (?:pas|plus|que)|n['’]\\p{L}+ (?:plus|que)|seulement|uniquement|désormais|dorénavant|à partir de maintenant|interdite?s?|il faut|au lieu de?|oublie[zr]?|annule[zr]?",
	),
	/绝不|绝对不|从不|永远|永不|总是|始终|一律|必须|务必|不要|不得|不能|不可|不许|不准|禁止|切勿|请勿|只能|只用|只在|只许|仅|从现在起|从今以后|今后|以后|别再|别用|不再|改为|改用|取消|作废/u,
];
