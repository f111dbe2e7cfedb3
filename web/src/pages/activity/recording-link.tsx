import { href } from '../../app/router';
import { t } from '../../text/text';

/** Link to the player of a recording. */
export const RecordingLink = ({ id }: { id: string }) => (
  <a href={href(`/activity/recordings/${encodeURIComponent(id)}`)}>{t('activity.recording.watch')}</a>
);
