import type { Signal } from '@preact/signals';
import { t } from '../text/text';
import { Button } from './button';
import { Notice } from './state';

/** Field of a form with the value that was read, the current value and the typed value. */
export interface Compared {
  label: string;
  theirs: string;
  yours: Signal<string>;
}

/** Shows changes by others while a form was filled in. For each field, the user can take over the other value or overwrite it. */
export function Conflict({ fields }: { fields: readonly Compared[] }) {
  const different = fields.filter(({ theirs, yours }) => theirs !== yours.value);
  return (
    <>
      <Notice kind="warn">
        <strong>{t('conflict.title')}</strong> {t('conflict.what')}
      </Notice>
      {different.length > 0 && (
        <div class="plain">
          <table aria-label={t('conflict.title')}>
            <thead>
              <tr>
                {[t('conflict.field'), t('conflict.theirs'), t('conflict.yours')].map((title) => (
                  <th key={title} scope="col">
                    {title}
                  </th>
                ))}
                <td />
              </tr>
            </thead>
            <tbody>
              {different.map(({ label, theirs, yours }) => (
                <tr key={label}>
                  <td data-title={t('conflict.field')}>{label}</td>
                  <td data-title={t('conflict.theirs')}>{theirs || t('conflict.empty')}</td>
                  <td data-title={t('conflict.yours')}>{yours.value || t('conflict.empty')}</td>
                  <td data-title="">
                    <Button
                      kind="quiet"
                      onClick={() => {
                        yours.value = theirs;
                      }}
                    >
                      {t('conflict.take')}
                    </Button>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  );
}
