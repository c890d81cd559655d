from labelwise.views import plots as plots
from labelwise.views.frames import to_frame as to_frame
from labelwise.views.html import as_text as as_text
from labelwise.views.html import card as card
from labelwise.views.wording import counted as counted
from labelwise.views.wording import duration as duration
