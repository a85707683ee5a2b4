import { refusalOfContextManagement } from "./context-editing.ts";
import { refusalOfBinding, refusalOfClearing, refusalOfGateway, refusalOfShape } from "./message-rules.ts";
import {
	type AcceptedRequest,
	createPreservedThinking,
	type NewThinking,
	type ThinkingAccount,
} from "./preserved-thinking.ts";
import type { Json } from "./thinking-session.ts";

export type Received =
	| { readonly kind: "refused"; readonly message: string; readonly headers: Readonly<Record<string, string>> }
	| { readonly kind: "accepted"; readonly accepted: AcceptedRequest };

/** One world: an API with the rules for thinking, and the signatures that it gave. */
export function createSessionUpstream(
	options: ThinkingAccount & { readonly isGateway: boolean; readonly refusesClearing: boolean },
) {
	const thinking = createPreservedThinking(options);
	const signatures = new Map<number, Json>();
	const numbers = new Map<unknown, number>();
	return {
		/** A block of thinking as the host got it. */
		signed(number: number): Json {
			const block = signatures.get(number);
			if (!block) throw new Error(`No answer had thinking ${number}.`);
			return block;
		},
		numberOf: ({ signature, data }: Json): number => numbers.get(signature ?? data) ?? -1,
		receive(body: Json, betas: readonly string[]): Received {
			const message =
				(options.isGateway ? refusalOfGateway(body, betas) : undefined) ??
				(options.refusesClearing ? refusalOfClearing(body) : undefined) ??
				refusalOfBinding(body, betas) ??
				refusalOfContextManagement(body, betas) ??
				refusalOfShape(body);
			if (message !== undefined) return { kind: "refused", message, headers: {} };
			const checked = thinking.check(body, betas);
			return checked.kind === "accepted"
				? { kind: "accepted", accepted: checked }
				: { kind: "refused", ...checked.refusal };
		},
		/** Signs the thinking of an answer; `names` are those its blocks in order. */
		answer(accepted: AcceptedRequest, content: readonly (NewThinking | Json)[], names: readonly number[]): void {
			const signed = thinking
				.issue(accepted, content)
				.filter(({ type }) => type === "thinking" || type === "redacted_thinking");
			for (const [index, block] of signed.entries()) {
				const name = names[index] as number;
				signatures.set(name, block);
				numbers.set(block.signature ?? block.data, name);
			}
		},
	};
}

export type SessionUpstream = ReturnType<typeof createSessionUpstream>;
