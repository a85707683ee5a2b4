import { PalimpsestError } from "../errors.ts";
import { answerWith, tellRounded } from "./answer-with.ts";
import type { ConversationCall } from "./conversation-call.ts";
import type { ConversationArguments } from "./conversation-input.ts";
import type { Answer } from "./tool.ts";

/**
 * Answers a tool that edits a conversation: takes it from `messages` or from the file at `path`, and answers with what
 * the caller asked for. A result written to `output_path` differs from the file at `path` inside the edits only.
 *
 * @throws PalimpsestError `invalid_argument` for arguments that do not go together; those of reading, editing and
 * writing.
 */
export async function answerConversation(call: ConversationCall): Promise<Answer> {
	const { input, edit } = call;
	requireFittingArguments(input);
	if (input.path === undefined) {
		const outcome = await edit({
			conversation: input.messages,
		});
		return outcome.instead ?? answerWith(input, tellRounded(input.messages, outcome));
	}
	const { answerPath } = await import("./answer-path.ts");
	return answerPath(call, input.path);
}

function requireFittingArguments({
	messages,
	path,
	respond_with,
	output_path,
	overwrite,
}: ConversationArguments): void {
	const refuse = (message: string): never => {
		throw new PalimpsestError("invalid_argument", message);
	};
	if ((messages === undefined) === (path === undefined)) refuse("Expected either `messages` or `path`, and not both.");
	if (output_path === undefined && overwrite !== undefined) refuse("Expected `overwrite` only with `output_path`.");
	if (output_path === undefined) return;
	if (path === undefined) refuse("Expected `output_path` only with `path`: what was passed inline is answered inline.");
	if (respond_with === undefined || respond_with === "messages") return;
	refuse('Expected `output_path` without `respond_with`, or with respond_with "messages".');
}
