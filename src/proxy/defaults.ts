import type { Config } from "../config/config.ts";
import { resolvePolicy } from "../policy/layers.ts";
import type { Policy } from "../policy/schema.ts";
import type { Upstreams } from "./routes.ts";

/** The providers' own base URLs. */
export const defaultUpstreams: Upstreams = {
	anthropic: "https://api.anthropic.com",
	openai: "https://api.openai.com",
	gemini: "https://generativelanguage.googleapis.com",
};

/** Starts from `balanced`, which acts only when that pays, unless the configuration names another preset. */
export function proxyPolicy({ layers }: Pick<Config, "layers">): Policy {
	return resolvePolicy([{ preset: "balanced" }, ...layers]);
}
