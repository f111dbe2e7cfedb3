import './messages.css';
import { t } from '../text/text';
import { Age } from '../ui/age';
import { Dialog, LastLine } from '../ui/dialog';
import { Icon } from '../ui/icon';
import { icons, messages } from '../ui/toast';

/** Lists the messages of this visit, also those that are no longer on the page. */
export function Messages({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title={t('shell.messages')} onClose={onClose}>
      <ul class="messages">
        {messages.value.map(({ id, kind, text, time }) => (
          <li key={id} class={`toast ${kind}`}>
            <Icon of={icons[kind]} />
            <p>{text}</p>
            <span class="muted">
              <Age since={time} />
            </span>
          </li>
        ))}
      </ul>
      <LastLine onClose={onClose} />
    </Dialog>
  );
}
