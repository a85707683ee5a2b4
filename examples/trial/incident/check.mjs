import { deepStrictEqual } from "node:assert";
import { readFileSync } from "node:fs";
import { failed } from "./world.mjs";

deepStrictEqual(JSON.parse(readFileSync("answer.json", "utf8")), failed);
