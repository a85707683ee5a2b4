import type { z } from "zod";
import { partialSchema } from "./partial-schema.ts";
import { type Policy, policySchema } from "./schema.ts";

type DeepPartial<Value> = Value extends readonly unknown[]
	? Value
	: Value extends object
		? { readonly [Key in keyof Value]?: DeepPartial<Value[Key]> }
		: Value;

/** Some fields of a policy: what a file, the environment, a flag or a tool's argument sets. */
export type PolicyLayer = DeepPartial<Policy>;

/** The schema of a layer, made from the policy's: every field optional, no defaults. */
export const policyLayerSchema = partialSchema(policySchema) as z.ZodObject;
