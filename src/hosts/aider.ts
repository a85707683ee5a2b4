import { nothingSet, providers, withVersionOf } from "./base-url.ts";
import type { Host, LaunchSurroundings, Pointing } from "./host.ts";

/** It has no MCP and no hooks. */
export const aider: Host = {
	name: "aider",
	title: "aider",
	launch: { command: "aider", point },
};

/** Source: https://aider.chat/docs/llms/openai-compat.html and LiteLLM's `ANTHROPIC_API_BASE`. Gemini's address cannot be set. */
async function point({ environment, origin }: LaunchSurroundings): Promise<Pointing> {
	const openai = environment.OPENAI_API_BASE || environment.OPENAI_BASE_URL || providers.openai;
	const anthropic = environment.ANTHROPIC_API_BASE || environment.ANTHROPIC_BASE_URL || providers.anthropic;
	return {
		...nothingSet,
		upstreams: { openai, anthropic },
		environment: {
			OPENAI_API_BASE: withVersionOf(openai, origin),
			OPENAI_BASE_URL: withVersionOf(openai, origin),
			ANTHROPIC_API_BASE: withVersionOf(anthropic, origin),
		},
	};
}
