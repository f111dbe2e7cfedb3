import type { PolicyAddition } from './content-security-policy.ts';

/** An enabled plugin, as a console is told of it. */
export interface ListedPlugin {
  name: string;
  displayName: string;
  order: number;
  source: 'ConfigMap' | 'Service';
  /** Path of its manifest, below the base path. */
  manifest: string;
  /** Pins the manifest. */
  integrity?: string;
}

/** What is known of ConsolePlugin objects. */
export interface PluginSwitches {
  /** Grows with every change. */
  readonly revision: number;
  isDisabled(plugin: string): boolean;
  /** The enabled ones, in their order. */
  enabled(): ListedPlugin[];
  /** What the enabled ones need beyond the console's own policy. */
  policyAdditions(): PolicyAddition[];
}
