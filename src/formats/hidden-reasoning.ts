/** Bytes of a signature in addition to the reasoning in it. */
const overhead = 173;

const bytesPerToken = 4;

/**
 * Tokens of reasoning that a message holds only in its signature, or encrypted; `undefined` if its text is shown. An
 * assumption: the base64 text holds the whole reasoning in UTF-8, `overhead` bytes and no more. In 266 signed blocks of
 * recorded sessions of Claude Code and of an API, the signatures of short texts were 173 to 175 bytes longer than the
 * text; longer ones held more than was shown, which is a summary.
 */
export function hiddenTokens(shown: unknown, sealed: unknown): number | undefined {
	if (typeof sealed !== "string" || (typeof shown === "string" && shown !== "")) return undefined;
	const bytes = (sealed.length * 3) / 4;
	return Math.max(0, Math.round((bytes - overhead) / bytesPerToken));
}
