"""The measures of a group: shares, sensitivity, confidence, meta-d′, information, and posteriors."""
