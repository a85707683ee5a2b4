import { blocksOf, listOf } from "./bound-prefix.ts";

type Json = Readonly<Record<string, unknown>>;

/**
 * Why a request parts from the one that the answer `previous_message_id` had, as Anthropic's API tells it. Source:
 * https://platform.claude.com/docs/en/build-with-claude/cache-diagnostics: nothing is stored for requests without `diagnostics`;
 * null without a request before, and where nothing parts.
 */
export function createCacheDiagnostics() {
	const asked = new Map<string, Json>();
	return {
		answer(id: string, body: Json): Json | undefined {
			const { diagnostics } = body;
			if (diagnostics === undefined || diagnostics === null) return undefined;
			asked.set(id, body);
			const { previous_message_id: previous } = diagnostics as Json;
			const reason = typeof previous === "string" ? reasonOf(asked.get(previous), body) : undefined;
			return { diagnostics: reason === undefined ? null : { cache_miss_reason: reason } };
		},
	};
}

function reasonOf(before: Json | undefined, body: Json): Json | undefined {
	if (before === undefined) return { type: "previous_message_not_found" };
	const differs = (name: string) => JSON.stringify(body[name]) !== JSON.stringify(before[name]);
	const missed = { cache_missed_input_tokens: Math.ceil(JSON.stringify(body).length / 4) };
	for (const name of ["model", "system", "tools"]) if (differs(name)) return { type: `${name}_changed`, ...missed };
	const [old, now] = [plain(before), plain(body)];
	return old.every((text, index) => text === now[index]) ? undefined : { type: "messages_changed", ...missed };
}

/** Breakpoints do not count. */
function plain({ messages }: Json): string[] {
	return listOf(messages).map(({ role, content }) =>
		JSON.stringify([role, blocksOf(content).map(({ cache_control: _, ...block }) => block)]),
	);
}
