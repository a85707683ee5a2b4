import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import type { Archive } from "../archive/archive.ts";
import { charsCheck } from "../pipeline/stream/limit-check.ts";
import { shortenStream } from "../pipeline/stream/shorten-stream.ts";
import { shortenText } from "../pipeline/stream/shorten-whole.ts";
import { excerptWordings } from "../policy/excerpt-wordings.ts";
import type { Policy } from "../policy/schema.ts";
import { hookShortening } from "./hook-shortening.ts";
import type { HookContext, ToolEvent } from "./tool-event.ts";
import type { UsualPolicy } from "./usual-policy.ts";

/** Shortens the result of one call by a policy, its whole in an archive. */
export function hookContext(what: {
	readonly event: ToolEvent;
	readonly policy: UsualPolicy;
	readonly archive: Archive | undefined;
	/** All of the policy, which takes longer to load. */
	readonly wholePolicy: () => Promise<Policy>;
	/** How a shell calls this program. */
	readonly command: string;
}): Pick<HookContext, "shorten" | "shortenFile" | "wordings"> {
	const { event, policy, archive, wholePolicy, command } = what;
	const toolCall = { id: event.toolCallId, name: event.toolName, input: event.input };
	return {
		shorten: (text, most) =>
			shortenText({ text, policy, archive, toolCall, command, check: charsCheck(most), how: hookShortening }),
		async shortenFile(file, most) {
			if (!(await stat(file).catch(() => undefined))?.isFile()) return undefined;
			const limit = { kind: "chars", most } as const;
			const pieces = createReadStream(file);
			const shortened = await shortenStream({ pieces, policy: await wholePolicy(), archive, toolCall, command, limit });
			if (shortened.failure !== undefined) throw shortened.failure;
			return shortened.kind === "whole" ? shortened.bytes.toString("utf8") : shortened.text;
		},
		wordings: async () => excerptWordings[policy.locale],
	};
}
