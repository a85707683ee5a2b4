/** What an endpoint says of an error in the fields that are made for programs. */
export interface ErrorFields {
	readonly code: string | undefined;
	readonly type: string | undefined;
	readonly param: string | undefined;
}

/** Longest value that is read; what is longer is prose. */
const longest = 100;

/** Reads the fields of an error's body; of one that is no JSON, none. */
export function readErrorFields(body: string): ErrorFields {
	try {
		return errorFieldsOf(JSON.parse(body));
	} catch {
		return errorFieldsOf(undefined);
	}
}

/**
 * The fields of an error, wherever they stand: under `error` (OpenAI, llama.cpp, newer vLLM), under `detail` (gateways
 * on FastAPI), or bare (Mistral, older vLLM).
 */
export function errorFieldsOf(value: unknown): ErrorFields {
	const fields = [at(value, "error"), at(value, "detail"), value].find(
		(one) => typeof one === "object" && one !== null,
	);
	return { code: word(at(fields, "code")), type: word(at(fields, "type")), param: word(at(fields, "param")) };
}

/**
 * The error that an answer with a good status holds in place of choices, as gateways send it once they began to answer,
 * with the status that it gives itself, or 200.
 */
export function errorInSuccess(value: unknown): { readonly status: number; readonly fields: ErrorFields } | undefined {
	const error = at(value, "error");
	if (typeof error !== "object" || error === null || at(value, "choices") !== undefined) return undefined;
	const fields = errorFieldsOf(value);
	const status = Number(fields.code);
	return { status: status >= 400 && status < 600 ? status : 200, fields };
}

function at(value: unknown, key: string): unknown {
	return typeof value === "object" && value !== null && Object.hasOwn(value, key)
		? (value as Record<string, unknown>)[key]
		: undefined;
}

function word(value: unknown): string | undefined {
	const text = typeof value === "number" ? String(value) : value;
	return typeof text === "string" && text.length <= longest ? text : undefined;
}
