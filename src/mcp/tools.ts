import type { Tool } from "./tool.ts";
import { compactConversation } from "./tools/compact-conversation.ts";
import { guardContext } from "./tools/guard-context.ts";
import { maskConversation } from "./tools/mask-conversation.ts";
import { recallOriginal } from "./tools/recall-original.ts";
import { truncateOutput } from "./tools/truncate-output.ts";

/** Every tool, in the order in which clients list them; `recall_original` only where originals are kept. */
export const tools: readonly Tool[] = [
	maskConversation,
	guardContext,
	truncateOutput,
	compactConversation,
	recallOriginal,
];
