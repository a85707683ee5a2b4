import { z } from "zod";
import { policySchema } from "./schema.ts";

/** The JSON Schema (draft 2020-12) of a policy as one writes it, with every field's description and default. */
export function policyJsonSchema(): Record<string, unknown> {
	const schema = z.toJSONSchema(policySchema, { target: "draft-2020-12", io: "input" });
	return { ...schema, title: "Palimpsest policy" };
}
