import { AjvJsonSchemaValidator } from "@modelcontextprotocol/sdk/validation/ajv-provider.js";
import type { jsonSchemaValidator } from "@modelcontextprotocol/sdk/validation/types.js";

/**
 * The SDK's own validator of what a client answers to an elicitation, made on first use: each server makes one as it
 * starts, which compiles Ajv's schemas, and ours asks clients for nothing.
 */
export const lazyValidator: jsonSchemaValidator = {
	getValidator: (schema) => new AjvJsonSchemaValidator().getValidator(schema),
};
