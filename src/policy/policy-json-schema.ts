import { z } from "zod";
import { policySchema } from "./schema.ts";

/** The JSON Schema (draft 2020-12) of a policy as one writes it, with every field's description and default. */
export function policyJsonSchema(): Record<string, unknown> {
	// Made once: a server that starts asks for it five times.
	made ??= { ...z.toJSONSchema(policySchema, { target: "draft-2020-12", io: "input" }), title: "Palimpsest policy" };
	return made;
}

let made: Record<string, unknown> | undefined;
