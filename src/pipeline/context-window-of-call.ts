import { budgetOf } from "../engine/budget.ts";
import { PalimpsestError } from "../errors.ts";
import type { GuardPolicy, Policy } from "../policy/schema.ts";
import { contextWindowOfModel, type ModelWindow } from "../tokens/context-window.ts";

/**
 * The context window of a call: as given, else the policy's override, else the model's, else its family's or what the
 * policy assumes, both with a note.
 *
 * @throws PalimpsestError `context_window_unknown` where none of these is known; a guess would pretend to fit.
 */
export async function contextWindowOfCall(
	given: number | undefined,
	policy: Policy,
	model: string | undefined,
): Promise<ModelWindow> {
	const known = given ?? policy.guard.context_window_override;
	if (known !== null && known !== undefined) return { tokens: known, notes: [] };
	const ofModel = model === undefined ? undefined : await contextWindowOfModel(model);
	if (ofModel !== undefined) return ofModel;
	const { unknown_window: assumed } = policy.guard;
	if (typeof assumed === "number") {
		const note = `${unknownWindow(model)}, so ${assumed} tokens are assumed, as guard.unknown_window in the policy says.`;
		return { tokens: assumed, notes: [note] };
	}
	throw new PalimpsestError(
		"context_window_unknown",
		model === undefined
			? "Expected a context window: give `context_window` in tokens, name a `model`, or set guard.context_window_override in the policy."
			: `The model catalogue knows no context window for ${shown(model)}: give \`context_window\` in tokens, or set guard.context_window_override in the policy.`,
	);
}

/**
 * The same for a guard that leaves a conversation alone where no window is known: where the policy says so, or has turned
 * the guard off.
 *
 * @throws PalimpsestError as `contextWindowOfCall` does.
 */
export async function guardedWindow(
	given: number | undefined,
	policy: Policy,
	model: string | undefined,
): Promise<ModelWindow | { readonly tokens: undefined; readonly notes: readonly string[] }> {
	try {
		return await contextWindowOfCall(given, policy, model);
	} catch (error) {
		const isLeft = policy.guard.unknown_window === "leave" || !policy.guard.enabled;
		if (!isLeft || !(error instanceof PalimpsestError) || error.code !== "context_window_unknown") throw error;
		const note = `${unknownWindow(model)}, so nothing was taken out, and nobody can tell whether the conversation fits. Give the window in tokens, or set guard.context_window_override in the policy.`;
		return { tokens: undefined, notes: [note] };
	}
}

/**
 * The budget of a guard that is going to change a conversation.
 *
 * @throws PalimpsestError `no_budget` where the window leaves the conversation nothing: the guard could only take out all
 * that may go, and still not fit.
 */
export function requiredBudget(contextWindow: number, guard: GuardPolicy): number {
	const budget = budgetOf(contextWindow, guard);
	if (budget > 0) return budget;
	const { reserve_tokens: reserve, budget_ratio: ratio } = guard;
	const share = ratio === 1 ? "" : `${ratio} of `;
	const advice =
		reserve > 0
			? "Give a smaller `reserve_tokens` (guard.reserve_tokens in the policy)"
			: "Set a larger guard.budget_ratio in the policy";
	throw new PalimpsestError(
		"no_budget",
		`Expected a budget of 1 token or more, got ${budget}: ${share}a context window of ${contextWindow} tokens, less a reserve of ${reserve} for the answer. Nothing was changed. ${advice}, or a larger \`context_window\`.`,
	);
}

function unknownWindow(model: string | undefined): string {
	return model === undefined
		? "No model is named and no context window is given"
		: `No context window is known for ${shown(model)}`;
}

function shown(model: string): string {
	return JSON.stringify(model.slice(0, 80));
}
