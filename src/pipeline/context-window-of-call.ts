import { PalimpsestError } from "../errors.ts";
import type { Policy } from "../policy/schema.ts";
import { contextWindowOfModel } from "../tokens/context-window.ts";

/**
 * The context window of a call in tokens: as given, else the policy's override, else the model's by the catalogue.
 *
 * @throws PalimpsestError `context_window_unknown` where none of these is known; a guess would pretend to fit.
 */
export async function contextWindowOfCall(
	given: number | undefined,
	policy: Policy,
	model: string | undefined,
): Promise<number> {
	const known = given ?? policy.guard.context_window_override;
	if (known !== null && known !== undefined) return known;
	if (model === undefined) {
		throw new PalimpsestError(
			"context_window_unknown",
			"Expected a context window: give `context_window` in tokens, name a `model`, or set guard.context_window_override in the policy.",
		);
	}
	const ofModel = await contextWindowOfModel(model);
	if (ofModel !== undefined) return ofModel;
	throw new PalimpsestError(
		"context_window_unknown",
		`The model catalogue knows no context window for ${JSON.stringify(model.slice(0, 80))}: give \`context_window\` in tokens, or set guard.context_window_override in the policy.`,
	);
}
