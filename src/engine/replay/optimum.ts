import type { ReplayHistory } from "../../masking/history.ts";
import type { Prices } from "../../policy/schema.ts";
import { meterSchedule } from "../../replaying/bill.ts";
import { optimalSchedule } from "../../replaying/optimum.ts";

/** The least that the calls of a history can cost: the bill of `optimalSchedule`. */
export function optimalBill(history: ReplayHistory, windowTurns: number, prices: Prices): number {
	return meterSchedule(history, optimalSchedule(history, windowTurns, prices), prices).billed;
}
