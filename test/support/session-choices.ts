import { pick } from "../bench/random.ts";
import type { HostForm } from "./host-history.ts";
import { policyOf } from "./policy-of.ts";
import { bindingBeta } from "./preserved-thinking.ts";

const betas = ["interleaved-thinking-2025-05-14", "context-management-2025-06-27"];

/** A result of more characters is cut. */
export const mostChars = 1_600;

export const models = [
	"claude-opus-5-5",
	"claude-opus-5-5",
	"claude-fable-5-2",
	"claude-sonnet-5-5",
	"claude-haiku-5-5",
	"claude-mythos-5-1",
	"claude-opus-4-8",
];

/** What a random session is: its model and account, its host, and the policy of the proxy. `by`: who takes old results out. */
export function chooseSession(random: () => number, by: "palimpsest" | "provider") {
	const chance = (share: number) => random() < share;
	const upTo = (most: number) => Math.floor(random() * (most + 1));
	const model = pick(random, models);
	const account = pick(random, ["older", "newer"] as const);
	const bringsBinding = chance(0.12);
	const isGateway = !bringsBinding && chance(0.15);
	const behaviour = pick(random, ["drop_block", "error"]);
	const thinking = bringsBinding
		? { type: "adaptive", block_binding: { prefix_mismatch_behavior: behaviour } }
		: pick(random, [{ of: { type: "adaptive" } }, { of: { type: "adaptive", display: "omitted" } }, { of: undefined }])
				.of;
	const form: Omit<HostForm, "model"> = {
		thinking,
		cacheControl: pick(random, [
			{ of: { type: "ephemeral" } },
			{ of: { type: "ephemeral", ttl: "1h" } },
			{ of: undefined },
		]).of,
		alternatesSystem: chance(0.5),
		hasBillingHeader: chance(0.2),
		offersRecall: chance(0.2),
	};
	const sentBetas = bringsBinding || (chance(0.3) && !isGateway) ? [...betas, bindingBeta] : betas;
	const host = {
		hasFaults: chance(0.35),
		isCareful: chance(0.7),
		rewrites: chance(0.2),
		compacts: chance(0.2),
		forks: chance(0.3),
		rewinds: chance(0.3),
		resumes: chance(0.4),
		isTwofold: chance(0.2),
		pauses: chance(0.3),
		changesModel: chance(0.08),
		repeats: chance(0.2),
		isRefused: chance(0.2),
		isRefusedFirst: chance(0.5),
		hasShortIds: chance(0.15),
		isHeldOut: chance(0.03),
		waits: chance(0.7),
	};
	const turns = chance(0.7) ? 1 + upTo(11) : chance(0.8) ? 12 + upTo(12) : 25 + upTo(35);
	const policy = policyOf({
		preset: "balanced",
		thinking: pick(random, ["auto", "auto", "auto", "auto", "auto", "strip_after_edit", "keep", "refuse"] as const),
		mask: {
			by,
			cadence: pick(random, ["break_even", "every_turn", "stride", "stride"] as const),
			stride_turns: 2 + upTo(3),
			window_turns: 1 + upTo(2),
			selection: pick(random, ["use", "age"] as const),
		},
		truncate: {
			max_chars: mostChars,
			head_chars: 200,
			tail_chars: 100,
			strategy: pick(random, ["auto", "head_tail"] as const),
		},
		guard: { context_window_override: chance(0.3) ? 3_000 : 200_000, reserve_tokens: 500 },
	});
	const clears = by === "provider";
	const refusesClearing = clears && chance(0.15);
	// As Claude Code asks for it.
	const ownEdit = clears && chance(0.5) ? { type: "clear_thinking_20251015", keep: "all" } : undefined;
	const manages = ownEdit ? { ...form, contextManagement: { edits: [ownEdit] } } : form;
	return {
		...{ model, account, behaviour, bringsBinding, isGateway, refusesClearing },
		...{ form: manages, sentBetas, host, turns, policy },
	};
}
