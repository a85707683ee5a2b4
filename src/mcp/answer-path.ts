import { PalimpsestError } from "../errors.ts";
import { decodeText } from "../files/read-file.ts";
import { spellingsOf, writeEdits } from "../json-text/edit.ts";
import { readTextDocument } from "../json-text/read.ts";
import { answerWith, tellRounded } from "./answer-with.ts";
import type { ConversationCall } from "./conversation-call.ts";
import { originalLinks } from "./original-link.ts";
import { type Answer, beside } from "./tool.ts";

/**
 * Answers with the conversation in the file at `path`. Where the caller does not say how, the result goes into a new file,
 * and the answer is the report: a session is larger than hosts show of an answer. Loaded on demand: most conversations
 * come inline.
 */
export async function answerPath(call: ConversationCall, path: string): Promise<Answer> {
	const { input, context, policy, edit } = call;
	const { respond_with, output_path } = input;
	const bytes = await context.files.read(path, policy.limits.max_file_bytes);
	const document = readTextDocument(decodeText(bytes, "the file at `path`"), "the file at `path`");
	const outcome = await edit({
		conversation: document.value,
		spellingsOf: (paths) => spellingsOf(document, paths),
	});
	if (outcome.instead) return outcome.instead;
	if (output_path === undefined && respond_with !== undefined) {
		return answerWith(input, respond_with === "messages" ? tellRounded(document.value, outcome) : outcome);
	}
	if (outcome.error) throw outcome.error;
	const { text } = writeEdits(document, outcome.edits);
	const written =
		output_path === undefined
			? await writeBeside(call, path, text)
			: await context.files.write(output_path, text, input.overwrite ?? false);
	return { output_path: written, report: outcome.report, [beside]: { blocks: originalLinks(outcome.edits) } };
}

/** Writes the result beside the file at `path`. The folder may take no files, of which the caller is told the way round. */
async function writeBeside({ context, done }: ConversationCall, path: string, text: string): Promise<string> {
	try {
		return await context.files.writeBeside(path, done, text);
	} catch (error) {
		if (!(error instanceof PalimpsestError)) throw error;
		const advice = 'Name a file for the result by `output_path`, or ask for respond_with "edits" or "messages".';
		throw new PalimpsestError(error.code, `${error.message} ${advice}`, { cause: error });
	}
}
