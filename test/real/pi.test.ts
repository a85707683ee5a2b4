import { describeRealSessions } from "./session-checks.ts";

describeRealSessions("pi", () => ({}));
