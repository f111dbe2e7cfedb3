import type { Context } from 'koa';
import type { default as Provider } from 'oidc-provider';
import { StatusError } from '../api/status.ts';
import type { Texts } from '../texts/texts.ts';
import type { Page } from './page.ts';
import { originsOf, type Views } from './views.ts';

type Interaction = Awaited<ReturnType<Provider['interactionDetails']>>;

/** Visit to a page with forms: the login page, or a one-time link. */
export interface FormVisit {
  readonly ctx: Context;
  readonly interaction: {
    /** Identifies the visit: sealed values of a form are valid in this visit only. */
    readonly uid: string;
    readonly params: Readonly<Record<string, unknown>>;
  };
  /** Keeps the path of the page out of the Referer header, also for this service. */
  readonly isSecretAddress?: true;
}

/** Visit to the login page, and the client that asks for the login. */
export interface Visit extends FormVisit {
  readonly provider: Provider;
  readonly interaction: Interaction;
  readonly clientID: string;
  readonly clientName: string;
}

export const textsOf = ({ views }: { views: Views }, { ctx, interaction }: FormVisit): Texts =>
  views.texts(ctx, interaction.params.ui_locales);

/** Returns the origins to which the forms of the visit finally lead. */
export const formTargetsOf = ({ interaction }: FormVisit): string[] => originsOf(interaction.params.redirect_uri);

export const send = ({ views }: { views: Views }, { ctx, isSecretAddress }: FormVisit, page: Page): void =>
  views.send(ctx, { ...page, ...(isSecretAddress && { isSecretAddress }) });

/** Passes the result to the provider, and redirects the browser to it. */
export async function finish({ ctx, provider }: Visit, result: Parameters<Provider['interactionResult']>[2]): Promise<void> {
  const returnTo = await provider.interactionResult(ctx.req, ctx.res, result, { mergeWithLastSubmission: false });
  ctx.status = 303;
  ctx.redirect(returnTo);
}

export interface Unavailable {
  outcome: 'unavailable';
  status: StatusError;
}

/** Converts temporary failures (429, 503, 504) to a verdict, because the login page shows them. */
export async function unlessUnavailable<T>(verdict: () => Promise<T>): Promise<T | Unavailable> {
  try {
    return await verdict();
  } catch (error) {
    if (error instanceof StatusError && [429, 503, 504].includes(error.status.code)) return { outcome: 'unavailable', status: error };
    throw error;
  }
}
