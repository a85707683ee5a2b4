/**
 * The messages in a `.aider.chat.history.md`, as Aider reads them back (`split_chat_history_markdown` in `aider/utils.py`):
 * lines behind `####` are the user's, those behind `>` and titles are for the screen, all others the assistant's. `undefined`
 * for any other text.
 */
export function readAiderHistory(text: string): readonly AiderMessage[] | undefined {
	if (!/^\uFEFF?\s*# aider chat started at \d/.test(text)) return undefined;
	const messages: AiderMessage[] = [];
	let open: { readonly role: AiderMessage["role"]; readonly lines: string[] } | undefined;
	const close = () => {
		const content = open?.lines.join("\n") ?? "";
		if (open && content.trim() !== "") messages.push({ role: open.role, content });
		open = undefined;
	};
	for (const line of text.split(/\r?\n/)) {
		if (line.startsWith("# ")) continue;
		if (line.startsWith("> ")) {
			close();
			continue;
		}
		const role = line.startsWith("#### ") ? "user" : "assistant";
		if (open?.role !== role) close();
		open ??= { role, lines: [] };
		open.lines.push(role === "user" ? line.slice("#### ".length) : line);
	}
	close();
	return messages;
}

interface AiderMessage {
	readonly role: "user" | "assistant";
	readonly content: string;
}
