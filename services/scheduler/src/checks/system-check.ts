import type { Sections } from '@switchyard/contracts';

export type MonitoringSettings = Sections['monitoring'];

/** Something on this machine that needs attention. */
export interface SystemAlert {
  /** What the alert is about. It stays the same while the values change. */
  key: string;
  text: string;
}

/** A check of this machine. */
export interface SystemCheck {
  name: string;
  isEnabled(settings: MonitoringSettings): boolean;
  /** How long a result is reused. */
  ttlMs: number;
  /** Returns the alerts; undefined if this machine cannot be checked, for example because a program is not installed. */
  run(settings: MonitoringSettings, signal: AbortSignal): Promise<SystemAlert[] | undefined>;
}
