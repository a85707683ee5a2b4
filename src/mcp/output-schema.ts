import { AjvJsonSchemaValidator } from "@modelcontextprotocol/sdk/validation/ajv-provider.js";
import type { JsonObject } from "../conversation/json.ts";

/** Whether structured content fits the `outputSchema` of its tool, as a client checks it; false for an unusable schema. */
export function fitsOutputSchema(content: unknown, schema: JsonObject): boolean {
	try {
		return new AjvJsonSchemaValidator().getValidator(schema)(content).valid;
	} catch {
		return false;
	}
}
