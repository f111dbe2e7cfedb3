import type { PolicyAddition } from './content-security-policy.ts';

/** What is known of ConsolePlugin objects. */
export interface PluginSwitches {
  /** Grows with every change. */
  readonly revision: number;
  isDisabled(plugin: string): boolean;
  /** What the enabled ones need beyond the console's own policy. */
  policyAdditions(): PolicyAddition[];
}
