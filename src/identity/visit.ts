import type { Context } from 'koa';
import type { default as Provider } from 'oidc-provider';
import { StatusError } from '../api/status.ts';
import type { Texts } from '../texts/texts.ts';
import type { Page } from './page.ts';
import { originsOf, type Views } from './views.ts';

type Interaction = Awaited<ReturnType<Provider['interactionDetails']>>;

/** Where a person fills in forms: the login page, or a one-time link. */
export interface FormVisit {
  readonly ctx: Context;
  readonly interaction: {
    /** What is sealed into a form counts in this visit alone. */
    readonly uid: string;
    readonly params: Readonly<Record<string, unknown>>;
  };
  /** Whether the address of the page must be told to no server, this one included. */
  readonly isSecretAddress?: true;
}

/** One visit to the login page, and which client asks for the login. */
export interface Visit extends FormVisit {
  readonly provider: Provider;
  readonly interaction: Interaction;
  readonly clientID: string;
  readonly clientName: string;
}

export const textsOf = ({ views }: { views: Views }, { ctx, interaction }: FormVisit): Texts =>
  views.texts(ctx, interaction.params.ui_locales);

/** Where the forms of the visit end. */
export const formTargetsOf = ({ interaction }: FormVisit): string[] => originsOf(interaction.params.redirect_uri);

export const send = ({ views }: { views: Views }, { ctx, isSecretAddress }: FormVisit, page: Page): void =>
  views.send(ctx, { ...page, ...(isSecretAddress && { isSecretAddress }) });

/** Goes back to where the provider waits for the answer. */
export async function finish({ ctx, provider }: Visit, result: Parameters<Provider['interactionResult']>[2]): Promise<void> {
  const returnTo = await provider.interactionResult(ctx.req, ctx.res, result, { mergeWithLastSubmission: false });
  ctx.status = 303;
  ctx.redirect(returnTo);
}

export interface Unavailable {
  outcome: 'unavailable';
  status: StatusError;
}

/** What is out of reach or overrun has a page here, too. */
export async function unlessUnavailable<T>(verdict: () => Promise<T>): Promise<T | Unavailable> {
  try {
    return await verdict();
  } catch (error) {
    if (error instanceof StatusError && [429, 503, 504].includes(error.status.code)) return { outcome: 'unavailable', status: error };
    throw error;
  }
}
