import { hasSingleKeys, singleKeys } from '../app/keys';
import { t } from '../text/text';
import { Dialog, LastLine } from '../ui/dialog';
import { CheckField } from '../ui/form';

const meanings = { '/': 'keys.find', j: 'keys.next', k: 'keys.previous', Enter: 'keys.open', x: 'keys.select', '?': 'keys.help' } as const;

/** Lists all keyboard shortcuts, with the switch for single keys. */
export function KeysHelp({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title={t('keys.title')} onClose={onClose}>
      <dl class="facts keys">
        <dt>
          <kbd>{t('keys.control')}</kbd> <kbd>K</kbd>
        </dt>
        <dd>{t('keys.palette')}</dd>
        {singleKeys.map((key) => [
          <dt key={key}>
            <kbd>{key}</kbd>
          </dt>,
          <dd key={`${key}.`} class={hasSingleKeys.value ? '' : 'muted'}>
            {t(meanings[key])}
          </dd>,
        ])}
      </dl>
      <CheckField
        label={t('keys.single')}
        isChecked={hasSingleKeys.value}
        onChange={(isChecked) => {
          hasSingleKeys.value = isChecked;
        }}
      />
      <LastLine onClose={onClose} />
    </Dialog>
  );
}
