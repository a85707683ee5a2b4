import { compactJson } from "./json.js";
import { startsWith } from "./paths.js";
/** The string at the path of a text that is replaced. */
export function inFrame({ frame }, text) {
	return frame ? frame.before + text + frame.after : text;
}
/** The text that replaced another in its frame; `undefined` if the frame is gone. */
export function withoutFrame({ frame }, replaced) {
	const { before, after } = frame ?? { before: "", after: "" };
	const isKept =
		replaced.length >= before.length + after.length && replaced.startsWith(before) && replaced.endsWith(after);
	return isKept ? replaced.slice(before.length, replaced.length - after.length) : undefined;
}
/** The places in the repeats of a result that correspond to a place in it; none for its copies. */
export function repeatedPlaces(result, path) {
	const { repeats = [] } = result;
	const own = (result.whole ?? result.texts[0] ?? result.media[0])?.path;
	return repeats.flatMap((repeat) => {
		const isWithin = own !== undefined && startsWith(path, own.slice(0, repeat.length));
		return isWithin ? [[...repeat, ...path.slice(repeat.length)]] : [];
	});
}
export function editablePaths(result) {
	const { texts, whole, copies, media, mediaCopies = [] } = result;
	const own = [...texts, ...media, ...(whole ? [whole] : [])].map(({ path }) => path);
	return [
		...own,
		...[...copies, ...mediaCopies].map(({ path }) => path),
		...own.flatMap((path) => repeatedPlaces(result, path)),
	];
}
/** All text of a result, for reading (never for editing); JSON for a result that is not only text. */
export function resultText({ texts, whole }) {
	if (whole?.json) return compactJson(whole.json.value);
	return texts.map(({ text }) => text).join("\n");
}
/** Its text without the reminders that a host puts after it, such as how many tokens are left: they are not its content. */
export function resultContent(result) {
	return withoutReminders(resultText(result));
}
/** Claude Code ends results with `<system-reminder>…</system-reminder>`. */
export function withoutReminders(text) {
	let content = text;
	for (let end = text.trimEnd(); end.endsWith("</system-reminder>"); end = content.trimEnd()) {
		const start = end.lastIndexOf("<system-reminder>");
		if (start === -1) break;
		content = end.slice(0, start);
	}
	return content;
}
/** Whether two results with the same texts have the same JSON around them. */
export function hasSameRest({ whole }, other) {
	return whole?.json?.rest.join("\n") === other.whole?.json?.rest.join("\n");
}
export function resultCharacters({ texts, whole }) {
	const characters = texts.reduce((sum, { text }) => sum + text.length, 0);
	return (whole?.json?.rest ?? []).reduce((sum, text) => sum + text.length, characters);
}
