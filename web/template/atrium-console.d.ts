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
    /** Reads JSON, as `parse` does. Throws what the service says; `components` show its refusals with the way to ask for the right. */
    json<T>(path: string, init?: RequestInit): Promise<T>;
    /**
     * Reads a list of Kubernetes to its end, such as `/api/kubernetes/api/v1/pods?labelSelector=app%3Dshop`. Throws for more than 5,000
     * objects, of which a part would be a wrong answer.
     */
    items<T>(path: string, signal?: AbortSignal): Promise<T[]>;
    /** Whether the person may, as the cluster answers. */
    may(rights: Right[]): Promise<boolean[]>;
  };
  /** Loads the components of the console, in which a plugin looks like its other pages. */
  components(): Promise<Components>;
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

/** Components of the console. Each is added at the end of its host, speaks the language of the console, and ends with the place. */
export interface Components {
  /** Rows that are sorted by a click on a title. On a phone each value stands beside its title. */
  table<Row>(host: Element, table: Table<Row>): Part<Table<Row>>;
  /** A place without content: loading, empty or failed; or a message. */
  state(host: Element, state: State): Part<State>;
  /** Fields with a button. Failures are shown at their fields. */
  form(host: Element, form: Form): Part<Form>;
  /** Lines over time, with the same figures as a table. */
  chart(host: Element, chart: Chart): Part<Chart>;
  /**
   * Shows what `read` returns, and until then that it loads, that it failed, or which right is missing. It is read again after a retry, after
   * an action of a plugin and by `reload`; `show` gets an empty host each time.
   */
  load<T>(host: Element, read: (signal: AbortSignal) => Promise<T>, show: (host: HTMLElement, value: T) => void): Loading;
}

/** A component in the page. */
export interface Part<Members> {
  /** Shows it with other members. Members that are not named stay. */
  update(members: Partial<Members>): void;
  remove(): void;
}

export interface Loading {
  reload(): Promise<void>;
  remove(): void;
}

export interface Table<Row> {
  /** Name for screen readers. */
  label: string;
  columns: readonly Column<Row>[];
  /** In the order in which they are shown at first. */
  rows: readonly Row[];
  idOf(row: Row): string;
  /** Text in place of a table without rows. */
  empty: string;
  /** Adds a field that finds rows by the texts of their cells. */
  isSearchable?: boolean;
}

export interface Column<Row> {
  title: string;
  /** Figures are aligned by their ends. */
  isNumber?: boolean;
  cell(row: Row): Cell | readonly Cell[];
  /** Value by which the rows are sorted. */
  sortBy?(row: Row): string | number;
}

/** A text, or a text with a state (shape and colour) or a link: to a path of the console, or to the page of an object. */
export type Cell = string | number | { text: string; state?: 'ok' | 'warn' | 'bad' | 'off'; to?: string; ref?: Ref };

export type State =
  | { is: 'loading' }
  | { is: 'empty'; text: string }
  | { is: 'failed'; error: unknown; retry(): void }
  | { is: 'ok' | 'info' | 'warn' | 'bad'; text: string };

export interface Form {
  fields: readonly Field[];
  /** Text of the button. */
  action: string;
  isDanger?: boolean;
  /**
   * Gets the texts of the fields by their names. Returns messages by the names of wrong fields, or nothing. What it throws is shown above the
   * button, or at the fields that a refusal of the service names. `signal` is aborted when the form goes away.
   */
  submit(values: Record<string, string>, signal: AbortSignal): Promise<Record<string, string> | undefined>;
  /** Called by a button to cancel, which is there with it. */
  cancel?(): void;
}

export interface Field {
  name: string;
  label: string;
  /** `text` by default. The value of a `checkbox` is `true` or empty. */
  type?: 'text' | 'email' | 'password' | 'number' | 'date' | 'choice' | 'checkbox';
  value?: string;
  hint?: string;
  isRequired?: boolean;
  /** Of a `choice`. */
  options?: readonly { value: string; label?: string }[];
  /** Texts to choose from while typing. Others are allowed. */
  suggestions?: readonly string[];
}

export interface Chart {
  title: string;
  /** Ascending, as texts of ISO 8601, Dates or milliseconds. */
  times: readonly (string | number | Date)[];
  lines: readonly ChartLine[];
  /** Text of a value, with its unit. */
  print?(value: number): string;
  /** Marks the scale in powers of two, for bytes. */
  isBinary?: boolean;
}

export interface ChartLine {
  label: string;
  /** A value for each time; null is a gap. */
  values: readonly (number | null)[];
  colour?: 'accent' | 'ok' | 'bad' | 'muted';
  isDashed?: boolean;
}
