import { callTarget } from "../masking/call-targets.ts";
import type { CallTarget, TargetKind } from "../masking/targets.ts";
import type { Policy } from "../policy/schema.ts";
import { isShownWhole } from "./shown-whole.ts";

/** The characters to which a result of a call is cut; `undefined` if it stays whole. */
export type ArrivalLimit = (
	result: { readonly chars: number } & Pick<CallTarget, "kind" | "isAsked">,
) => number | undefined;

/** What of a policy says how much of a result is shown when it arrives. */
export interface ArrivalPolicy {
	readonly truncate: Pick<Policy["truncate"], "max_chars" | "command_chars">;
	readonly mask: Pick<Policy["mask"], "thrift">;
}

/** docs/evidence.md#cutting-on-arrival */
export function arrivalLimit({
	truncate: { max_chars: all, command_chars },
	mask: { thrift },
}: ArrivalPolicy): ArrivalLimit {
	const ofCommands = thrift === "low" ? all : (command_chars ?? all);
	return ({ chars, kind, isAsked }) => {
		if (thrift === "low" && quoted.has(kind)) return undefined;
		const most = reporting.has(kind) && !isAsked ? ofCommands : all;
		return chars > most ? most : undefined;
	};
}

/** What these print is a report of what was done, unless they were asked to show it. What other calls return was asked for. */
const reporting: ReadonlySet<TargetKind> = new Set(["run", "list", "write"]);

/** These stay whole with thrift low: an answer that quotes a file needs all of its lines. */
const quoted: ReadonlySet<TargetKind> = new Set(["read", "write"]);

/** The limit of a result by the call that it answers; `input` is the JSON of its arguments. */
export function limitOfCall(
	call: { readonly toolName: string | undefined; readonly input: string | undefined; readonly chars: number },
	limitOf: ArrivalLimit,
): number | undefined {
	const { toolName, input, chars } = call;
	if (isShownWhole(toolName ?? "", input)) return undefined;
	return limitOf({ chars, ...callTarget({ name: toolName, argumentsText: input }) });
}
