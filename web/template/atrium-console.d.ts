/**
 * Contract 1 between the console of Atrium and its plugins. Within a contract things are only added; a manifest names the contract that
 * its plugin was written for.
 */

/** What the module of a manifest's `entry` exports as `plugin`. */
export interface Plugin {
  /** Called once, after the page is there. What it adds stands until the plugin is switched off. */
  activate(context: Context): void | Promise<void>;
  /** Called when the person logs out. `context.signal` is aborted then. */
  deactivate?(): void;
}

export interface Context {
  /** Of the ConsolePlugin. */
  readonly name: string;
  readonly signal: AbortSignal;
  /** A page at `/x/<name>/<path>`, and at all addresses below it that no other page of the plugin has. */
  page(path: string, page: { title: Key; mount: Mount }): void;
  /** An entry of the menu that leads to a page of the plugin. Who lacks one of the rights does not see it. */
  menu(entry: { label: Key; path: string; under: 'people' | 'access' | 'cluster' | 'plugins'; order?: number; rights?: Right[] }): void;
  /** A part of the page of each object of a kind, such as users of the group `auth.platform.io`. */
  tab(tab: { group: string; resource: string; label: Key; mount: Mount }): void;
  /** Something to be done with one or several objects of a kind, for who has all the rights. */
  action(action: { group: string; resource: string; label: Key; rights: Right[]; run(objects: Ref[]): Promise<void> }): void;
  readonly api: {
    /** The service, as the person who is logged in: a path such as `/auth/v1/groups`. It answers as `fetch` does. */
    fetch(path: string, init?: RequestInit): Promise<Response>;
    /** A Service of the cluster, by an alias of the ConsolePlugin. */
    proxy(alias: string, path: string, init?: RequestInit): Promise<Response>;
    /**
     * Reads JSON as `JSON.parse` does, except that an integer beyond 2^53 is a BigInt: Kubernetes has int64, and `response.json()` rounds
     * them. Use it for `await response.text()` of each object that you write back.
     */
    parse(text: string): unknown;
    /** Writes JSON with such integers to the digit. Throws where a number cannot be written as it is. */
    stringify(value: unknown): string;
    /** Whether the person may, as the cluster answers. */
    may(rights: Right[]): Promise<boolean[]>;
  };
  navigate(path: string): void;
  /** A text of the plugin's own `locales/<language>.json`, with `{{values}}` put in. */
  t(key: Key, values?: Record<string, string | number>): string;
  notify(kind: 'ok' | 'bad', text: string): void;
  confirm(question: { title: string; text: string; button: string }): Promise<boolean>;
  readonly theme: Readable<'light' | 'dark'>;
  readonly language: Readable<string>;
  /** The namespace that is chosen in the console; empty for all. */
  readonly namespace: Readable<string>;
}

/**
 * Fills `host`, which stands in a shadow root with the styles of the console and of the plugin. What it returns is called when the place
 * goes away; `signal` is aborted then.
 */
export type Mount = (host: HTMLElement, place: Place) => void | (() => void) | Promise<void>;

export interface Place {
  /** The object, in a tab. */
  ref?: Ref;
  /** What stands behind `/x/<name>/` in the address, in a page. */
  path: string;
  signal: AbortSignal;
}

/** A key of the plugin's texts. */
export type Key = string;

/** Whether someone may do something. Without a group it is the core group, with pods and ConfigMaps. */
export interface Right {
  verb: string;
  group?: string;
  resource: string;
  subresource?: string;
  name?: string;
  namespace?: string;
}

/** An object of the cluster. */
export interface Ref {
  group: string;
  version: string;
  resource: string;
  namespace?: string;
  name: string;
  uid?: string;
}

/** A value that changes. */
export interface Readable<T> {
  readonly value: T;
  /** Calls the listener now and at each change. @returns what ends that */
  subscribe(listener: (value: T) => void): () => void;
}
