import { scaleTokens } from "../engine/conversation/measure.js";
import { PalimpsestError } from "../errors.js";
import { asCountedText, objectOf } from "../formats/json-text/value.js";
import { loadCounter } from "../formats/tokens/counter.js";
import { encodingNames } from "../formats/tokens/encodings.js";
import { estimateTokens } from "../formats/tokens/estimate.js";
import { requestOverhead } from "../formats/tokens/request.js";
export async function countText(request) {
	const { text, policy, model, encoding } = request;
	if (typeof text !== "string") {
		throw new PalimpsestError("invalid_argument", `Expected \`text\` to be a string; got ${typeof text}.`);
	}
	if (encoding !== undefined && !encodingNames.includes(encoding)) {
		throw new PalimpsestError("invalid_argument", `Expected \`encoding\` to be ${encodingNames.join(", ")}.`);
	}
	const tokens = { ...policy.tokens, encoding: encoding ?? policy.tokens.encoding };
	const { meter, estimate } = await tokenMeter({ ...policy, tokens }, model ?? policy.guard.model ?? undefined);
	const { tokens: likely, low, high } = scaleTokens({ tokens: meter.countTokens(text) }, estimate.scale);
	return { tokens: likely, low, high, ...countingReport(estimate), notes: estimate.notes };
}
export function countingReport({ encoding, method, scale }) {
	return { encoding, method, factor: scale.factor };
}
/** Says which tokens a figure counts: every command shows it beside its tokens. */
export function countingWords({ encoding, method, factor }) {
	const scaled = `${Math.round(factor * 100) / 100} × the count in ${encoding}`;
	if (method === "exact") return `counted in ${encoding}`;
	return method === "estimated" ? `estimated for the model: ${scaled}` : `as the provider counts: ${scaled}`;
}
/** Adds the tools that were passed along. Throws PalimpsestError `invalid_argument` if the conversation has tools. */
export function asSent({ transcript, located }, { model, tools: passed }) {
	const own = toolsOf(located.document);
	if (passed !== undefined && own !== undefined) {
		throw new PalimpsestError("invalid_argument", "Expected `tools` only if the conversation itself holds none.");
	}
	const tools = passed ?? own;
	return {
		transcript:
			passed === undefined
				? transcript
				: { ...transcript, surroundings: [...transcript.surroundings, asCountedText(passed)] },
		requestOverhead(countTokens) {
			if (model === undefined) return 0;
			return requestOverhead({ model, tools, toolTokens: countTokens(asCountedText(tools)), countTokens });
		},
	};
}
function toolsOf(body) {
	const { tools, toolConfig } = objectOf(body);
	return tools ?? objectOf(toolConfig).tools ?? undefined;
}
/** Counts in the policy's encoding, else in the one nearest to the model's, else in o200k_base. */
export async function tokenMeter(policy, model) {
	const estimate = await estimateTokens(model, policy.tokens.encoding ?? undefined);
	const countTokens = await loadCounter(estimate.encoding);
	return { meter: { countTokens, messageOverhead: policy.tokens.message_overhead }, estimate };
}
