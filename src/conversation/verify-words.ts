import type { Transcript } from "./transcript.ts";

/** The texts that are not in the user's messages word for word, and in this order, by number and size. */
export function missingWords({ messages }: Transcript, texts: readonly string[] = []): string[] {
	const said = messages.filter(({ role, sent }) => role === "user" && sent !== false);
	const all = said.flatMap(({ counted }) => counted).join("\n\n");
	let from = 0;
	return texts.flatMap((text, index) => {
		const at = all.indexOf(text, from);
		if (at === -1) return [`text ${index} of ${texts.length}, with ${text.length} characters`];
		from = at;
		return [];
	});
}
