import type { IncomingHttpHeaders } from "node:http";

type Json = Readonly<Record<string, unknown>>;

/** A made-up sign-in with ChatGPT, as Codex 0.171 keeps it in `auth.json`. */
export function chatGptSignIn(now: Date): Json {
	const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
	const seconds = Math.floor(now.getTime() / 1000);
	const claims = {
		email: "someone@example.com",
		iat: seconds,
		exp: seconds + 5 * 86_400,
		"https://api.openai.com/auth": {
			chatgpt_plan_type: "pro",
			chatgpt_user_id: "user-made-up",
			chatgpt_account_id: chatGptAccount,
		},
	};
	const token = [part({ alg: "none", typ: "JWT" }), part(claims), part("made up")].join(".");
	const tokens = { id_token: token, access_token: token, refresh_token: "made-up", account_id: chatGptAccount };
	return { auth_mode: "chatgpt", OPENAI_API_KEY: null, tokens, last_refresh: now.toISOString() };
}

const chatGptAccount = "account-made-up";

/** Where requests of a ChatGPT sign-in come. */
export const chatGptPath = "/backend-api/codex";

export const googleToken = "made-up-google-token";
export const googleProject = "made-up-project";

/**
 * Why the backends of sign-ins refuse a request, as far as their programs show what they ask for; nothing for another path. Read
 * off Codex 0.171 and `packages/core/src/code_assist` of Gemini CLI 0.61.
 */
export function refusalOfSignIn(
	{ pathname, headers }: { readonly pathname: string; readonly headers: IncomingHttpHeaders },
	body: Json,
): string | undefined {
	if (pathname.startsWith(`${chatGptPath}/`)) return refusalOfChatGpt(pathname, headers, body);
	return isCodeAssist(pathname) ? refusalOfCodeAssist(headers, body) : undefined;
}

function refusalOfChatGpt(pathname: string, headers: IncomingHttpHeaders, body: Json): string | undefined {
	if (pathname !== `${chatGptPath}/responses`) return `Not found: ${pathname}`;
	const missing = ["originator", "session-id", "thread-id", "user-agent"].filter((name) => headers[name] === undefined);
	if (!/^Bearer ey\w+\./.test(headers.authorization ?? "")) return "Expected the token of a ChatGPT sign-in.";
	if (headers["chatgpt-account-id"] !== chatGptAccount) return "Expected the account in chatgpt-account-id.";
	if (missing.length > 0) return `Expected the headers ${missing.join(", ")}.`;
	if (headers["content-encoding"] !== undefined) return "This stand-in decodes no body.";
	if (body.store !== false) return "Store must be set to false";
	return body.stream === true ? undefined : "Stream must be set to true";
}

function isCodeAssist(pathname: string): boolean {
	return /^\/v1internal:(?:generateContent|streamGenerateContent)$/.test(pathname);
}

function refusalOfCodeAssist({ authorization }: IncomingHttpHeaders, body: Json): string | undefined {
	if (authorization !== `Bearer ${googleToken}`) return "Request had invalid authentication credentials.";
	const unknown = Object.keys(body).filter((name) => !codeAssistFields.has(name));
	if (unknown.length > 0) return `Invalid JSON payload received. Unknown name "${unknown[0]}"`;
	if (body.project !== googleProject) return "Permission denied on resource project.";
	if (typeof body.model !== "string") return "Expected a model.";
	const { contents } = (body.request ?? {}) as Json;
	return Array.isArray(contents) && contents.length > 0 ? undefined : "contents is not specified";
}

const codeAssistFields = new Set(["model", "project", "user_prompt_id", "request", "enabled_credit_types"]);

/** The answers of Google's backend that are none of a model, by their method. */
export function codeAssistAnswer(pathname: string): Json | undefined {
	const method = /^\/v1internal:(\w+)$/.exec(pathname)?.[1];
	if (method === undefined) return undefined;
	const tier = { id: "standard-tier", name: "Standard" };
	return method === "loadCodeAssist" ? { currentTier: tier, cloudaicompanionProject: googleProject } : {};
}
