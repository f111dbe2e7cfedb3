/** Objects before and after a change of several at once. */
import type { Outcome } from '../api/each';
import { t } from '../text/text';
import { Notice } from './state';

const shownNames = 8;

/** Names the first objects, and the number of the others. */
export const Names = ({ of: names }: { of: readonly { id: string; name: string }[] }) => (
  <ul class="chips">
    {names.slice(0, shownNames).map(({ id, name }) => (
      <li key={id} class="chip">
        {name}
      </li>
    ))}
    {names.length > shownNames && <li class="chip">{t('users.more', { count: names.length - shownNames })}</li>}
  </ul>
);

/** Lists the objects that were not changed, with the reasons. */
export const Failures = ({ text, failed }: { text: string; failed: readonly Outcome[] }) => (
  <Notice>
    {text}
    <ul class="causes">
      {failed.map(({ name, message }) => (
        <li key={name}>
          <strong>{name}</strong>: {message}
        </li>
      ))}
    </ul>
  </Notice>
);
