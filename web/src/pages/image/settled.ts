import { useEffect, useState } from "react";

const SETTLE_MS = 250;

/** A value once it has stopped changing: the service is not asked at each step of a slider. */
export function useSettled<T>(value: T): T {
  const key = JSON.stringify(value);
  const [settled, setSettled] = useState({ key, value });
  useEffect(() => {
    if (settled.key === key) return undefined;
    const timer = setTimeout(() => setSettled({ key, value: JSON.parse(key) as T }), SETTLE_MS);
    return () => clearTimeout(timer);
  }, [key, settled.key]);
  return settled.value;
}
