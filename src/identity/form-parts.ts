/** Parts of the forms. Values are escaped where they are put in. */
import { type Html, html } from './html.ts';

export const hidden = (name: string, value: string): Html => html`<input type="hidden" name="${name}" value="${value}">`;

export const problemText = (text: Html | string): Html => html`<div class="bad" role="alert" id="problem">${text}</div>`;
