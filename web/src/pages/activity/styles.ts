import { addStyles } from '../../ui/add-styles';
import styles from './activity.css?inline';

addStyles(styles);
