import { once } from "../../engine/conversation/lists.ts";
import type { Policy } from "../../engine/policy/schema.ts";
import { reasoningBinding } from "../../formats/tokens/reasoning-binding.ts";
import { asksForCheck, type Block, blocksLeftOut, boundBlocks } from "./reasoning.ts";
import type { HostRequest, OpenedConversation } from "./request.ts";
import type { ResultState } from "./states.ts";

export type LeftOutReasoning = ReturnType<typeof readReasoning>;

/** Which reasoning of a request its edits make invalid, and which of that is left out. */
export function readReasoning(opened: OpenedConversation, request: HostRequest<unknown>, policy: Policy) {
	const { transcript, remembered, paired, isHeldOut } = opened;
	// Once the request is noted, it is one of those that are remembered.
	const number = remembered.requests + 1;
	const leftOutBefore = new Map(remembered.leftOut);
	const tracks = !isHeldOut && (remembered.isEnforced || tracksReasoning(request, policy));
	const leavesOut = remembered.isEnforced || leavesInvalidOut(request, policy);
	const all = once(() => boundBlocks(request.body, transcript, remembered));
	const blocks = tracks ? all() : [];
	return {
		tracks,
		blocks,
		/** Also where nobody has refused any yet. */
		all,
		invalid(stateOf: (place: number) => ResultState | undefined, among: readonly Block[] = blocks): Block[] {
			if (among.length === 0) return [];
			const changes = paired.flatMap(({ result, message }, place) => {
				const { changed = 0, kind } = stateOf(place) ?? {};
				// A result that the provider clears is still sent whole.
				if (kind === "cleared") return [];
				const path = changed > 0 ? (result.whole ?? result.texts[0] ?? result.media[0])?.path : undefined;
				return path ? [{ message, path, changed }] : [];
			});
			return blocksLeftOut({ blocks: among, changes, leftOut: leftOutBefore, number, model: request.model });
		},
		leftOut: (invalid: readonly Block[]) => (leavesOut ? invalid : invalid.filter(({ key }) => leftOutBefore.has(key))),
	};
}

/** Whether the API may refuse reasoning whose beginning was edited. */
function tracksReasoning({ model, body }: HostRequest<unknown>, { thinking }: Policy): boolean {
	return thinking === "strip_after_edit" || asksForCheck(body) || reasoningBinding(model) !== "none";
}

/**
 * Whether invalid reasoning is left out before anybody has refused it. Where only some accounts are checked, it is left
 * in until this one has refused it.
 */
function leavesInvalidOut({ model, body, isEnforced }: HostRequest<unknown>, { thinking }: Policy): boolean {
	if (thinking !== "auto") return thinking === "strip_after_edit";
	const binding = reasoningBinding(model);
	return asksForCheck(body) || binding === "all_accounts" || (isEnforced && binding === "some_accounts");
}
