import type { Signal } from '@preact/signals';
import { t } from '../text/text';
import { Button } from './button';
import { Notice } from './state';

/** A field of a form as it was read, as it is there now, and as the form has it. */
export interface Compared {
  label: string;
  theirs: string;
  yours: Signal<string>;
}

/** What has changed while a form was filled in. Nothing is lost: each field can be taken over, or saved over. */
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
