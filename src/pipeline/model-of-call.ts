import { requestBody } from "../formats/find-messages.ts";
import { isJsonObject, stringAt } from "../formats/json-values.ts";
import type { Policy } from "../policy/schema.ts";

/** The model that a call is about: as named by the caller, else in the request body, else in the policy. */
export function modelOfCall(named: string | undefined, document: unknown, policy: Policy): string | undefined {
	const body = requestBody(document);
	// Bedrock's Converse names it otherwise.
	const inBody = isJsonObject(body) ? (stringAt(body, "model") ?? stringAt(body, "modelId")) : undefined;
	return named ?? inBody ?? policy.guard.model ?? undefined;
}
