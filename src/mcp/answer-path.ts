import { writeEdits } from "../documents/apply-edits.ts";
import { decodeText } from "../documents/decode-text.ts";
import { spellingsOf } from "../documents/spellings-of.ts";
import { readTextDocument } from "../documents/text-document.ts";
import { answerWith, tellRounded } from "./answer-with.ts";
import type { ConversationCall } from "./conversation-call.ts";
import { originalLinks } from "./original-link.ts";
import { type Answer, beside } from "./tool.ts";

/** Answers with the conversation in the file at `path`. Loaded on demand: most conversations come inline. */
export async function answerPath(call: ConversationCall, path: string): Promise<Answer> {
	const { input, context, policy, edit } = call;
	const bytes = await context.files.read(path, policy.limits.max_file_bytes);
	const document = readTextDocument(decodeText(bytes, "the file at `path`"), "the file at `path`");
	const outcome = await edit({
		conversation: document.value,
		spellingsOf: (paths) => spellingsOf(document, paths),
		memory: "owned",
	});
	if (outcome.instead) return outcome.instead;
	if (input.output_path === undefined) {
		return answerWith(input, input.respond_with === "messages" ? tellRounded(document.value, outcome) : outcome);
	}
	if (outcome.error) throw outcome.error;
	const { text } = writeEdits(document, outcome.edits);
	const written = await context.files.write(input.output_path, text, input.overwrite ?? false);
	return { report: outcome.report, output_path: written, [beside]: { blocks: originalLinks(outcome.edits) } };
}
